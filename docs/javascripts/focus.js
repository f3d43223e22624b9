// What scrolls sideways can be reached by the keyboard.
document$.subscribe(() => {
  const boxes = [
    ".md-typeset__scrollwrap", ".md-typeset pre > code", ".md-typeset pre[style]",
    "math[display=block]", ".dataframe", "p:has(> img)",
  ];
  for (const box of document.querySelectorAll(boxes.join())) {
    box.setAttribute("tabindex", "0");
  }
});
