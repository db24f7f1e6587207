import { type AreaFigure, type Figure, atLeast, atMost, reported } from '../bench/figure.ts'
import type { Tally } from './tally.ts'

/** Returns the figures of a soak of `grants` connections that took `seconds`. */
export function soakFigures(tally: Tally, grants: number, seconds: number): (AreaFigure & Figure)[] {
  const reportAll = (...names: string[]): AreaFigure[] => names.map((name) => reported(name, tally.get(name)))
  const never = (...names: string[]): AreaFigure[] => names.map((name) => atMost(0, name, tally.get(name)))
  // A soak without such events proves nothing.
  const atLeastOnce = (...names: string[]): AreaFigure[] =>
    names.map((name) => atLeast(1, name, tally.get(name)))
  const figures = [
    reported('duration', seconds, 's'),
    atLeast(grants, 'sign-ins', tally.get('sign-ins')),
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
    atLeast(grants, 'grants that work at the end', tally.get('grants that work at the end')),
  ]
  return figures.map((figure) => Object.assign(figure, { area: 'soak' }))
}
