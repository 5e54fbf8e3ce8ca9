// Says when webpack builds anew, and for which files. (f.js imports sub/f.js.)
import webpack from "webpack";
import path from "path";

const here = process.cwd();
const short = files => [...files || []].map(file => path.relative(here, file) || ".").sort().join(" ");
let built = false;
const compiler = webpack({ mode: "development", context: here, entry: "./f.js", output: { path: "/tmp/built" } });
compiler.watch({}, (err, stats) => {
	const how = err || stats.hasErrors() ? "failed" : "built";
	console.log(built ? `${how}: ${short(compiler.modifiedFiles)} gone: ${short(compiler.removedFiles)}` : "ready");
	built = true;
});
