// Browsers refuse web workers for pages opened from the disk. There, a hidden frame runs the script of the search.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.appendChild(this.frame);
      const { contentWindow, contentDocument } = this.frame;
      contentWindow.postMessage = (data) => setTimeout(() => this.dispatchEvent(new MessageEvent("message", { data })));
      const script = contentDocument.createElement("script");
      script.src = new URL(address, location.href).href;
      script.onload = () => {
        this.ready = true;
        this.waiting.splice(0).forEach((data) => this.postMessage(data));
      };
      contentDocument.body.appendChild(script);
    }
    postMessage(data) {
      if (this.ready) this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
      else this.waiting.push(data);
    }
    terminate() {
      this.frame.remove();
    }
  };
}
