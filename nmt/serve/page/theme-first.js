// A classic script that runs before the first paint, so that a chosen theme never flashes.
try {
  const theme = localStorage.getItem("nmt-theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch { /* without storage the system's theme is used */ }
