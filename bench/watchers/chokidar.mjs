// Says what chokidar sees of a folder.
import chokidar from "chokidar";
chokidar.watch(".", { ignoreInitial: true })
	.on("ready", () => console.log("ready"))
	.on("all", (event, path) => console.log(event, path));
