// A page that is opened as a file may not start a Worker. There the search runs in a hidden frame:
// its messages go to the frame and come back from it. Pages of a server keep the browser's Worker.
if (location.protocol === "file:") {
    window.Worker = class extends EventTarget {
        constructor(url) {
            super()
            const frame = document.createElement("iframe")
            frame.hidden = true
            frame.srcdoc = "<script></script>"
            this.queue = []
            this.post = message => this.queue.push(message)
            frame.addEventListener("load", () => this.begin(frame.contentWindow, url), { once: true })
            document.body.append(frame)
        }

        // A script of the worker sends by postMessage of its own window, and takes message events.
        begin(inner, url) {
            inner.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
            inner.importScripts = (...urls) => Promise.all(urls.map(each => this.load(inner, each)))
            this.load(inner, url).then(() => {
                this.post = data => inner.dispatchEvent(new inner.MessageEvent("message", { data }))
                this.queue.forEach(data => this.post(data))
            })
        }

        load(inner, url) {
            return new Promise((loaded, failed) => {
                const script = inner.document.createElement("script")
                script.src = url
                script.onload = loaded
                script.onerror = failed
                inner.document.body.append(script)
            })
        }

        postMessage(message) {
            this.post(message)
        }

        terminate() {}
    }
}
