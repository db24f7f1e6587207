import type * as Http from 'node:http'
import type * as Https from 'node:https'

// Not by `import`: that reads every export of node:http, also the ones that load all of fetch and WebSocket when they are
// read. On Node 26 it is a third of the start, and 7 MB.

/** The module `node:http`, with nothing loaded that is not used. */
export const nodeHttp: typeof Http = process.getBuiltinModule('node:http')

/** The module `node:https`, loaded by the first call. */
export function nodeHttps(): typeof Https {
  return process.getBuiltinModule('node:https')
}
