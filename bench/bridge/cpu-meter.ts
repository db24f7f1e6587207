import { type BarredFigure, reported } from '../figure.ts'
import type { Caller, CallGroup } from './caller.ts'

/** Processor time of bridges since it was made. */
export interface CpuMeter {
  /** Microseconds per call of the bridge of that name, which has carried `calls` since then and was idle otherwise. */
  microseconds(name: string, calls: number): number
}

/** Starts measuring. The clock of the system has steps of ten milliseconds, but it is read no more than twice. */
export function createCpuMeter(callers: readonly Caller[]): CpuMeter {
  const begun = new Map(
    callers.map(({ name, client }) => [name, { client, ms: client?.cpuMs() ?? Number.NaN }]),
  )
  return {
    microseconds(name, calls) {
      const { client, ms } = begun.get(name) ?? {}
      return (((client?.cpuMs() ?? Number.NaN) - (ms ?? Number.NaN)) * 1000) / calls
    },
  }
}

/** What a call costs each bridge of `group` in processor time, which other programs on the machine hardly change. */
export function cpuFigures(
  { area, on, callers, ours }: CallGroup,
  title: string,
  cpuOf: (name: string) => number,
): BarredFigure[] {
  return callers.flatMap(({ name, kind }) => {
    if (kind === 'direct') return []
    return reported({
      area,
      name: `${title}, ${name}, ${on}`,
      value: cpuOf(name),
      unit: 'us',
      ...(kind === 'peer' && { peer: name, ratio: cpuOf(ours) / cpuOf(name) }),
    })
  })
}
