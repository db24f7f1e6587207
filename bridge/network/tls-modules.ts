import type * as Https from 'node:https'
import type * as Tls from 'node:tls'

// Not by `import`: with TLS comes all of the cryptography of Node, 3 MB of memory that a server on this machine never needs.

/** The module `node:https`, loaded by the first call. */
export function nodeHttps(): typeof Https {
  return process.getBuiltinModule('node:https')
}

/** The module `node:tls`, loaded by the first call. */
export function nodeTls(): typeof Tls {
  return process.getBuiltinModule('node:tls')
}
