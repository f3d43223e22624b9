// The page: each part starts when its model is there, and says so if it is not.

const PARTS = {"copy-model": "./copy.js", "numbers-model": "./numbers.js",
  "departures-model": "./departures.js", "zero-model": "./own.js"};

// The part that is read first starts first: a link may lead into the middle of the page, which
// the browser has not reached yet.
const places = Object.keys(PARTS).map(id => document.getElementById(id));
const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
const start = target ? target.getBoundingClientRect().top : 0;
const distances = new Map(places.map(place => {
  const {top, bottom} = place.getBoundingClientRect();
  return [place, Math.max(0, top - start - window.innerHeight, start - bottom)];
}));
for (const place of places.sort((a, b) => distances.get(a) - distances.get(b))) {
  try {
    place.model = await (await import(PARTS[place.id])).start(place); // for scripts and tests
    place.removeAttribute("aria-busy");
  } catch (error) {
    place.textContent = `This part does not run here: ${error.message}. It requires JavaScript ` +
      "modules, WebAssembly, and the runtime that `make browser docs` puts into the site.";
    console.error(error);
  }
}
