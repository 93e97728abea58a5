// Builds the page's script and style into the package, with the licences of what is bundled.
// `node build.mjs OUT` writes somewhere else, so that a test can compare.
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, "../src/cb_reporters/page/assets");

const built = await build({
  absWorkingDir: here,
  entryPoints: { page: "src/main.ts", style: "src/style.css" },
  outdir: out,
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  charset: "ascii",
  legalComments: "none",
  metafile: true,
  write: false,
});

async function licences() {
  const packages = new Set();
  for (const output of Object.values(built.metafile.outputs)) {
    for (const [input, { bytesInOutput }] of Object.entries(output.inputs)) {
      const found = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
      if (found && bytesInOutput > 0) packages.add(found[1]);
    }
  }
  const parts = ["What is bundled into page.js, and under which licence.\n"];
  for (const name of [...packages].sort()) {
    const folder = join(here, "node_modules", name);
    const { version, license } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
    const file = (await readdir(folder)).find((one) => /^licen[cs]e/i.test(one));
    const text = file ? (await readFile(join(folder, file), "utf8")).trim() : "";
    parts.push(`${"=".repeat(80)}\n${name} ${version} (${license})\n\n${text}\n`);
  }
  return parts.join("\n");
}

await mkdir(out, { recursive: true });
for (const file of built.outputFiles) await writeFile(file.path, file.text);
await writeFile(join(out, "LICENSES.txt"), await licences());
