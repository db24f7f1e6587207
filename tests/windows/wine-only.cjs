// Wine has no keep-alive options of sockets, and Node gives up a connection that refuses them.
'use strict'
const { Socket } = require('node:net')

Socket.prototype.setKeepAlive = function setKeepAlive() {
  return this
}
// Its consoles have no title, and Node ends where a program reads one, as the build does.
process.title = 'node'
