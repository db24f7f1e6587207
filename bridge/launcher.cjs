#!/usr/bin/env node
// Plain ES5: desktop clients start the first Node they find, and an old one must get as far as the message.
var needed = [20, 19]
var running = process.versions.node.split('.').map(Number)
if (running[0] < needed[0] || (running[0] === needed[0] && running[1] < needed[1])) {
  process.stderr.write(
    'drawbridge needs Node ' +
      needed.join('.') +
      ' or newer; this is Node ' +
      process.versions.node +
      ' at ' +
      process.execPath +
      '.\nInstall a newer Node, or give the client the absolute path of one as its command.\n',
  )
  process.exit(1)
}
var bundle = require('path').join(__dirname, 'dist', 'main.mjs')
if (!require('fs').existsSync(bundle)) {
  process.stderr.write('drawbridge is not built yet. Run npm run build.\n')
  process.exit(1)
}
var nodeModule = require('module')
if (nodeModule.enableCompileCache) {
  try {
    // Not where Node would keep it, below /tmp: whoever is first there could have us run their code.
    var cache = require('os').homedir()
    ;['.cache', 'drawbridge'].forEach(function (name) {
      cache = require('path').join(cache, name)
      // One at a time: the recursive mode of Node 26 never ends below /proc.
      if (!require('fs').existsSync(cache)) require('fs').mkdirSync(cache, { mode: 448 })
    })
    var stat = require('fs').statSync(cache)
    var isOpenToOthers = process.getuid && (stat.uid !== process.getuid() || (stat.mode & 18) !== 0)
    if (!isOpenToOthers) nodeModule.enableCompileCache(cache)
    // Old parsers need the name.
    // oxlint-disable-next-line no-unused-vars
  } catch (error) {
    // No home, or one that cannot be written: it starts without.
  }
}
// Built from a string, because old parsers refuse the word import.
// oxlint-disable-next-line typescript/no-implied-eval
var load = Function('path', 'return import(path)')
load(require('url').pathToFileURL(bundle).href)
