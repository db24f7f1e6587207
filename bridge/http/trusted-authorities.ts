import { readFileSync } from 'node:fs'
import type { SecureContext } from 'node:tls'

/** Loaded only for additional authorities: the import takes five megabytes. */
const tls = () => process.getBuiltinModule('node:tls')

/** The authorities that are trusted. `ca` is PEM text of further ones; Node alone would take it instead of the usual ones. */
export class TrustedAuthorities {
  #further: string[]
  #hasSystem = false
  #context: SecureContext | undefined

  constructor(ca: string | undefined) {
    this.#further = ca === undefined ? [] : [ca]
  }

  /** `undefined` stands for the defaults of Node, which need no work. */
  context(): SecureContext | undefined {
    if (this.#further.length === 0) return undefined
    return (this.#context ??= tls().createSecureContext({ ca: [...usualAuthorities(), ...this.#further] }))
  }

  /** Adds what the operating system trusts, if anything. Not from the start: reading it takes time. */
  addSystem(): boolean {
    if (this.#hasSystem) return false
    this.#hasSystem = true
    const system = readAuthorities('system') ?? []
    this.#further.push(...system)
    this.#context = undefined
    return system.length > 0
  }
}

/** Returns what Node trusts without a list of ours: its own bundle, and the file of NODE_EXTRA_CA_CERTS. */
function usualAuthorities(): readonly string[] {
  return readAuthorities('default') ?? [...tls().rootCertificates, ...extraAuthorities()]
}

/** `undefined` on Node before 22.15, which cannot tell. */
function readAuthorities(kind: 'default' | 'system'): readonly string[] | undefined {
  return tls().getCACertificates?.(kind)
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
