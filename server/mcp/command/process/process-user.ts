import { readFileSync } from 'node:fs'

/** The capabilities that starting and ending processes of another user takes: CAP_KILL, CAP_SETGID and CAP_SETUID. */
const neededCapabilities = 0b1110_0000n

/**
 * Says why this server cannot run processes as another user; undefined when it can. Only root loses every capability with the change:
 * a process of any other user with these capabilities would keep them.
 */
export function processUserFault(): string | undefined {
  const needs =
    'Start it as root on Linux, or leave user out: then the command can read all that Drawbridge can read.'
  if (process.platform !== 'linux' || process.getuid?.() !== 0)
    return `user: Drawbridge cannot run the command as another user, because it does not run as root on Linux. ${needs}`
  const [, effective = '0'] = /^CapEff:\s*([0-9a-f]+)/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? []
  if ((BigInt(`0x${effective}`) & neededCapabilities) === neededCapabilities) return undefined
  return `user: Drawbridge cannot run the command as another user, because its root lacks CAP_KILL, CAP_SETGID or CAP_SETUID. Give it these (docker run --cap-add), or leave user out: then the command can read all that Drawbridge can read.`
}
