import { Resolver } from 'node:dns/promises'

/** Every address of a host name. `signal` aborts the lookup. */
export type ResolveHost = (hostname: string, signal: AbortSignal) => Promise<readonly string[]>

/**
 * Queries the name servers of this machine, or `servers`, for A and AAAA records. Ignores the hosts file and search domains,
 * which lead to names of the internal network. If one query fails, the other's answer is used.
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
