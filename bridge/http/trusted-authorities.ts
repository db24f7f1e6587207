import { readFileSync } from 'node:fs'
import * as tls from 'node:tls'

export interface TrustedAuthorities {
  /** `undefined` stands for the defaults of Node, which need no work. */
  context(): tls.SecureContext | undefined
  /**
   * Adds the authorities that the operating system trusts, for networks whose proxy signs with its own. Not done from
   * the start, because reading them takes time and most servers need none. False if there are none to add.
   */
  addSystem(): boolean
}

/** `ca` is PEM text of further authorities; Node alone would take it instead of the usual ones, not beside them. */
export function createTrustedAuthorities(ca: string | undefined): TrustedAuthorities {
  let further = ca === undefined ? [] : [ca]
  let askedSystem = false
  let context: tls.SecureContext | undefined
  return {
    context() {
      if (further.length === 0) return undefined
      context ??= tls.createSecureContext({ ca: [...usualAuthorities(), ...further] })
      return context
    },
    addSystem() {
      if (askedSystem) return false
      askedSystem = true
      const system = readAuthorities('system')
      if (system === undefined || system.length === 0) return false
      further = [...further, ...system]
      context = undefined
      return true
    },
  }
}

/** Returns what Node trusts without a list of ours: its own bundle, and the file of NODE_EXTRA_CA_CERTS. */
function usualAuthorities(): readonly string[] {
  return readAuthorities('default') ?? [...tls.rootCertificates, ...extraAuthorities()]
}

/** `undefined` on Node before 22.15, which cannot tell. */
function readAuthorities(kind: 'default' | 'system'): readonly string[] | undefined {
  return typeof tls.getCACertificates === 'function' ? tls.getCACertificates(kind) : undefined
}

function extraAuthorities(): string[] {
  const file = process.env['NODE_EXTRA_CA_CERTS']
  if (file === undefined || file === '') return []
  try {
    return [readFileSync(file, 'utf8')]
  } catch {
    // Node itself warns about a file that it cannot read, and goes on.
    return []
  }
}
