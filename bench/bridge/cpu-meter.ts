import { type BarredFigure, reported } from '../figure.ts'
import type { Caller, CallGroup } from './caller.ts'

/** Processor time of bridges since the meter was created. */
export interface CpuMeter {
  /** Returns microseconds per call of a bridge that has carried `calls` since then and was otherwise idle. */
  microseconds(name: string, calls: number): number
}

/** Starts measuring. The system's clock has steps of ten milliseconds, but it is read at most twice. */
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

/**
 * Returns the processor time of a call for each bridge of `group`, which other programs on the machine hardly affect.
 */
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
