// Browsers refuse web workers for pages opened from the disk. There, a hidden frame runs the script of the search.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.appendChild(this.frame);
      const inside = this.frame.contentWindow;
      inside.postMessage = (data) => setTimeout(() => this.dispatchEvent(new MessageEvent("message", { data })));
      inside.importScripts = (...addresses) =>
        addresses.reduce((before, each) => before.then(() => this.load(each)), Promise.resolve());
      // The index is a script of its own beside the pages: a worker could not read it from the disk.
      this.load(address).then(() => {
        this.ready = true;
        this.waiting.splice(0).forEach((data) => this.pass(data));
      });
    }
    load(address) {
      return new Promise((loaded, failed) => {
        const script = this.frame.contentDocument.createElement("script");
        script.src = new URL(address, location.href).href;
        script.onload = loaded;
        script.onerror = failed;
        this.frame.contentDocument.body.appendChild(script);
      });
    }
    postMessage(data) {
      if (this.ready) this.pass(data);
      else this.waiting.push(data);
    }
    pass(data) {
      this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
    }
    addEventListener(type, heard) {
      super.addEventListener(type, heard);
    }
    set onmessage(heard) {
      this.addEventListener("message", heard);
    }
    terminate() {
      this.frame.remove();
    }
  };
}
