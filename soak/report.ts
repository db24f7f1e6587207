import { atLeast, atMost, type BarredFigure, reported } from '../bench/figure.ts'
import type { Tally } from './tally.ts'

/** Returns the figures of a soak of `grants` connections that took `seconds`. */
export function soakFigures(tally: Tally, grants: number, seconds: number): BarredFigure[] {
  const measured = (name: string, unit = '') => ({ area: 'soak', name, value: tally.get(name), unit })
  const reportAll = (...names: string[]): BarredFigure[] => names.map((name) => reported(measured(name)))
  const never = (...names: string[]): BarredFigure[] => names.map((name) => atMost(0, measured(name)))
  // A soak without such events proves nothing.
  const atLeastOnce = (...names: string[]): BarredFigure[] => names.map((name) => atLeast(1, measured(name)))
  return [
    reported({ area: 'soak', name: 'duration', value: seconds, unit: 's' }),
    atLeast(grants, measured('sign-ins')),
    ...reportAll('call 200', 'call 401', 'call 503', 'call connection'),
    ...reportAll('refresh 200', 'refresh 503', 'refresh connection', 'refresh cancelled by the client'),
    ...atLeastOnce('races'),
    ...never('races with several answers'),
    ...atLeastOnce('provider rotations', 'replayed parents'),
    ...reportAll('fault slow', 'fault held', 'fault rate_limited', 'fault gateway_page', 'fault dropped'),
    ...reportAll('fault reply_lost'),
    ...atLeastOnce('kills', 'database restarts'),
    ...reportAll('updates'),
    ...never('wrong answers', 'failed requests', 'reuse revocations', 'grants ended by the server'),
    ...never('grants lost', 'failures of the soak itself'),
    atLeast(grants, measured('grants that work at the end')),
  ]
}
