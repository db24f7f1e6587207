import type * as Tls from 'node:tls'

/**
 * The module `node:tls`, loaded by the first call. Not by `import`: with TLS comes all of the cryptography of Node, 3 MB of
 * memory that a server on this computer never needs.
 */
export function nodeTls(): typeof Tls {
  return process.getBuiltinModule('node:tls')
}
