// Ends with the next change of the document, or after this many milliseconds.
(milliseconds) => new Promise((done) => {
  const end = () => {
    observer.disconnect();
    clearTimeout(timer);
    document.removeEventListener('input', end, true);
    done(true);
  };
  const observer = new MutationObserver(end);
  const timer = setTimeout(end, milliseconds);
  observer.observe(document, {subtree: true, childList: true, attributes: true, characterData: true});
  document.addEventListener('input', end, true);
})
