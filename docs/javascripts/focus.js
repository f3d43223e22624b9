// What scrolls sideways can be reached by the keyboard.
document$.subscribe(() => {
  const boxes = ".md-typeset__scrollwrap, .md-typeset pre > code, math[display=block], .dataframe, p:has(> img)";
  for (const box of document.querySelectorAll(boxes)) {
    box.setAttribute("tabindex", "0");
  }
});
