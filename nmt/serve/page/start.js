// A classic script that fetches the modules once the page is on the screen, so that they do not delay its first paint.

requestAnimationFrame(() => setTimeout(async () => {
  try {
    await import("./main.js");
  } catch (error) {
    if (!/import/i.test(error.message)) throw error; // the modules came, and made a mistake
    const notice = document.getElementById("notice");
    notice.textContent = "A part of this page did not come from the server. Load the page again.";
    notice.hidden = false;
  }
}));
