// A classic script that fetches the modules once the page is on the screen, so that they do not delay its first paint.

requestAnimationFrame(() => setTimeout(() => import("./main.js")));
