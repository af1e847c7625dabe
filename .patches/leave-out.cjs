'use strict'
/*
 * Removes, after the installation, the files of packages that nothing here ever opens: more than a third of what npm
 * brings. A package that is missing, or that has changed its folders, is left as it is.
 */
const { readdirSync, rm, unlink } = require('node:fs')
const { join, relative, sep } = require('node:path')

const modules = join(__dirname, '..', 'node_modules')

/** For each package the paths in it that are removed, and why. */
const UNUSED = [
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
  return list(join(modules, scope)).map(({ name }) => `${scope}/${name}`)
}

function list (folder) {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    return []
  }
}

/** The paths below a package that `matches` says are unused; nothing below one of them. */
function * unused (root, matches, folder = root) {
  for (const entry of list(folder)) {
    const path = join(folder, entry.name)
    if (matches(relative(root, path).split(sep).join('/'))) yield { path, isFile: !entry.isDirectory() }
    else if (entry.isDirectory()) yield * unused(root, matches, path)
  }
}

/** What is to be removed; the largest come first. */
function * all () {
  for (const { of, paths } of UNUSED) {
    for (const name of of) yield * unused(join(modules, name), (path) => paths.test(path))
  }
  if ((process.env.npm_config_omit ?? '').split(/[\s,]+/).includes('dev')) {
    yield * unused(modules, (path) => FOR_DEVELOPERS.some((each) => each.test(path)))
  }
}

// Thousands of small removals: those of several folders go on at the same time.
for (const { path, isFile } of [...all()]) {
  if (isFile) unlink(path, ignoreMissing)
  else rm(path, { recursive: true, force: true }, ignoreMissing)
}

/** What is in a folder that goes may have gone with it. */
function ignoreMissing (err) {
  if (err && err.code !== 'ENOENT') throw err
}
