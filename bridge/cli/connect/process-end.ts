const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
const parentCheckMs = 3000

/** Calls `stop` once, at a signal or when the parent is gone. A second signal ends the process at once. Returns how to stop watching. */
export function watchProcessEnd(stop: (reason: string) => void): () => void {
  const parent = process.ppid
  let isStopped = false
  const once = (reason: string): void => {
    if (isStopped) return
    isStopped = true
    stop(reason)
  }
  const onSignal = (signal: NodeJS.Signals): void => {
    if (isStopped) process.exit(0)
    once(signal)
  }
  for (const signal of signals) process.on(signal, onSignal)
  const timer = setInterval(() => {
    if (isGone(parent)) once('the parent process is gone')
  }, parentCheckMs)
  timer.unref()
  return () => {
    clearInterval(timer)
    for (const signal of signals) process.off(signal, onSignal)
  }
}

/** Windows goes on naming a parent that has ended, such as the cmd.exe of a `.cmd` file whose client has killed it. */
function isGone(parent: number): boolean {
  if (process.platform !== 'win32') return process.ppid !== parent
  try {
    process.kill(parent, 0)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
}
