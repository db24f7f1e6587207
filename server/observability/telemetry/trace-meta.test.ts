import { expect, it } from 'vitest'
import { withTrace, withTraceText } from './trace-meta.ts'

const carrier = { traceparent: 'new', tracestate: 's=1' }

it.each<[text: string, changed: string]>([
  ['{"id":1}', '{"id":1,"params":{"_meta":{"traceparent":"new","tracestate":"s=1"}}}'],
  ['{"params":{}}', '{"params":{"_meta":{"traceparent":"new","tracestate":"s=1"}}}'],
  ['{"params":{ "a":1}}', '{"params":{"a":1,"_meta":{"traceparent":"new","tracestate":"s=1"}}}'],
  [
    ' { "params" : { "_meta" : { "traceparent" : "o\\"ld" , "k":12345678901234567890.10 } } }',
    '{"params":{"_meta":{"traceparent":"new","k":12345678901234567890.10,"tracestate":"s=1"}}}',
  ],
  // Names elsewhere, as values or in arguments, do not belong to the message.
  [
    '{"method":"params","params":{"name":"_meta","arguments":{"_meta":{"traceparent":"old"},"params":{}}}}',
    '{"method":"params","params":{"name":"_meta","arguments":{"_meta":{"traceparent":"old"},"params":{}},"_meta":{"traceparent":"new","tracestate":"s=1"}}}',
  ],
  [
    '{"params":{"_met\\u0061":{"x":[{}]}}}',
    '{"params":{"_meta":{"x":[{}],"traceparent":"new","tracestate":"s=1"}}}',
  ],
])('SEP-414: the trace context goes into %s, and no other value changes', (text, changed) => {
  expect(withTraceText(text, carrier)).toBe(changed)
})

it.each(['{"params":[]}', '{"params":{"_meta":7}}', '[{"params":{}}]', '{', ''])(
  'SEP-414: %s has no place for a trace context, and stays as it is',
  (text) => expect(withTraceText(text, carrier)).toBe(text),
)

it('SEP-414: a parsed message gets the same', () => {
  const message = { method: 'm', params: { a: 1, _meta: { traceparent: 'old', k: 2 } } }
  expect(withTrace(message, carrier)).toEqual(JSON.parse(withTraceText(JSON.stringify(message), carrier)))
  expect(withTrace({ method: 'm' }, carrier)).toEqual(JSON.parse(withTraceText('{"method":"m"}', carrier)))
})
