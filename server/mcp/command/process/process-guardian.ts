import { type ChildProcess, spawn } from 'node:child_process'

/** Ends process groups that outlive this process, even one that was killed by force. */
export interface ProcessGuardian {
  /** `group` is the id of a process group, whose members end with this process from now on. */
  watch(group: number): void
  forget(group: number): void
  /** Ends the guardian, and with it every group that is still watched. */
  close(): void
}

/** Reads `+ GROUP` and `- GROUP` until its input ends, as it does when the writer dies in whatever way. */
const script = `
trap '' HUP INT TERM
groups=
while read -r sign group; do
  rest=
  for each in $groups; do [ "$each" = "$group" ] || rest="$rest $each"; done
  groups=$rest
  [ "$sign" = + ] && groups="$groups $group"
done
for group in $groups; do kill -TERM "-$group"; done
[ -n "$groups" ] && sleep 1
for group in $groups; do kill -KILL "-$group"; done
`

/**
 * Creates the {@link ProcessGuardian}: one shell in a session of its own, started with the first group. `path` is where it
 * finds its commands; `onFailure` is called with the reason when it cannot start. Windows has neither process groups nor this shell: there,
 * processes that ignore the end of their input outlive a server that is killed by force.
 */
export function createProcessGuardian(
  path: string | undefined,
  onFailure: (error: unknown) => void,
): ProcessGuardian {
  const groups = new Set<number>()
  let shell: ChildProcess | undefined
  const send = (line: string): void => void shell?.stdin?.write(`${line}\n`)

  function start(): void {
    const started = spawn('/bin/sh', ['-c', script], {
      env: path === undefined ? {} : { PATH: path },
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    shell = started
    const gone = (): void => {
      if (shell === started) shell = undefined
    }
    started.on('error', (error) => {
      gone()
      onFailure(error)
    })
    started.on('exit', gone)
    started.stdin.on('error', gone)
    started.unref()
    for (const group of groups) send(`+ ${group}`)
  }

  return {
    watch(group) {
      if (process.platform === 'win32') return
      groups.add(group)
      if (shell) send(`+ ${group}`)
      // A guardian that was killed is replaced with the next group.
      else start()
    },
    forget(group) {
      if (groups.delete(group)) send(`- ${group}`)
    },
    close: () => void shell?.stdin?.end(),
  }
}
