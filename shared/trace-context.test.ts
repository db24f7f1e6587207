import { expect, it } from 'vitest'
import { traceIdOf } from './trace-context.ts'

const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
const parent = '00f067aa0ba902b7'

it.each<[traceparent: unknown, traceId: string | undefined]>([
  [`00-${trace}-${parent}-01`, trace],
  [`cc-${trace}-${parent}-01-more`, trace],
  [`ff-${trace}-${parent}-01`, undefined],
  [`00-${'0'.repeat(32)}-${parent}-01`, undefined],
  [`00-${trace}-${'0'.repeat(16)}-01`, undefined],
  [`00-${trace.toUpperCase()}-${parent}-01`, undefined],
  [`00-${trace}-${parent}-01more`, undefined],
  [`00-${trace}-${parent}`, undefined],
  ['', undefined],
  [17, undefined],
  [undefined, undefined],
])('W3C Trace Context 3.2: %j has the trace id %j', (traceparent, traceId) => {
  expect(traceIdOf(traceparent)).toBe(traceId)
})
