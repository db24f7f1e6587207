import { type Answer, type Connection, openConnection } from './connection.ts'

/** Produces the requests of one connection. */
export interface Walker {
  /** Returns the next request, head and body. */
  next(): string
  /** Takes the answer. False for a wrong one, which counts as an error. */
  accept(answer: Answer): boolean
}

/** Results of one round of load. */
export interface LoadResult {
  completed: number
  errors: number
  seconds: number
  /** Duration of each answer in milliseconds, ascending. */
  latencies: Float64Array
  /** The first wrong answer; undefined when there was none, or the connection broke. */
  wrong: Answer | undefined
}

/** Open connections to one server, each with its walker. */
export interface Load {
  /** Keeps every connection busy with one request at a time, then waits for the last answers. */
  run(milliseconds: number): Promise<LoadResult>
  close(): void
}

/** Opens one connection for each of `walkers`. */
export async function openLoad(
  port: number,
  walkers: readonly Walker[],
  localAddress?: string,
): Promise<Load> {
  const lanes: { connection: Connection; walker: Walker }[] = []
  for (const walker of walkers) lanes.push({ connection: await openConnection(port, localAddress), walker })
  return {
    close() {
      for (const { connection } of lanes) connection.close()
    },
    async run(milliseconds) {
      const latencies: number[] = []
      let errors = 0
      let wrong: Answer | undefined
      const begin = performance.now()
      const end = begin + milliseconds
      await Promise.all(
        lanes.map(
          ({ connection, walker }) =>
            new Promise<void>((resolve) => {
              const step = (): void => {
                const sent = performance.now()
                if (sent >= end) {
                  resolve()
                  return
                }
                connection.send(walker.next(), (answer) => {
                  if (answer && walker.accept(answer)) {
                    latencies.push(performance.now() - sent)
                    step()
                    return
                  }
                  // Results after a wrong answer prove nothing, so this connection stops.
                  errors += 1
                  wrong ??= answer
                  resolve()
                })
              }
              step()
            }),
        ),
      )
      const seconds = (performance.now() - begin) / 1000
      return {
        completed: latencies.length,
        errors,
        seconds,
        latencies: Float64Array.from(latencies).sort(),
        wrong,
      }
    },
  }
}
