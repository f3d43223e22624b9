// The page: each part starts when its model is there, and says so if it is not.

const PARTS = {"copy-model": "./copy.js", "numbers-model": "./numbers.js",
  "departures-model": "./departures.js", "zero-model": "./own.js"};

await Promise.all(Object.entries(PARTS).map(async ([id, module]) => {
  const place = document.getElementById(id);
  try {
    place.model = await (await import(module)).start(place); // for scripts and tests
    place.removeAttribute("aria-busy");
  } catch (error) {
    place.textContent = `This part does not run here: ${error.message}. It requires JavaScript ` +
      "modules, WebAssembly, and the runtime that `make browser docs` puts into the site.";
    console.error(error);
  }
}));
