import { Resolver } from 'node:dns/promises'

/** Every address of a host name; none when it has none. `signal` ends the search. */
export type ResolveHost = (hostname: string, signal: AbortSignal) => Promise<readonly string[]>

/**
 * Asks the name servers of this machine, or `servers`, directly for A and AAAA records. The hosts file and search domains are
 * left out: they lead to names of the own network. One question without an answer leaves the answer to the other.
 */
export function createHostResolver(servers?: readonly string[]): ResolveHost {
  return async (hostname, signal) => {
    const resolver = new Resolver({ timeout: 1000, tries: 2 })
    if (servers) resolver.setServers(servers)
    const cancel = (): void => resolver.cancel()
    signal.addEventListener('abort', cancel, { once: true })
    try {
      const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
      return answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
    } finally {
      signal.removeEventListener('abort', cancel)
    }
  }
}
