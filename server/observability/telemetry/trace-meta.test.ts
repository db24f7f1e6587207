import { expect, it } from 'vitest'
import { withTrace, withTraceText } from './trace-meta.ts'

const carrier = { traceparent: 'new', tracestate: 's=1' }

it.each<[text: string, changed: string]>([
  ['{"id":1}', '{"params":{"_meta":{"traceparent":"new","tracestate":"s=1"}},"id":1}'],
  ['{"params":{}}', '{"params":{"_meta":{"traceparent":"new","tracestate":"s=1"}}}'],
  ['{"params":{ "a":1}}', '{"params":{"_meta":{"traceparent":"new","tracestate":"s=1"}, "a":1}}'],
  ['{"params":{"_meta":{}}}', '{"params":{"_meta":{"tracestate":"s=1","traceparent":"new"}}}'],
  [
    ' { "params" : { "_meta" : { "traceparent" : "o\\"ld" , "k":12345678901234567890.10 } } }',
    ' { "params" : { "_meta" : {"tracestate":"s=1", "traceparent" : "new" , "k":12345678901234567890.10 } } }',
  ],
  [
    `{"params"${' '.repeat(200)}:{${' '.repeat(200)}}}`,
    `{"params"${' '.repeat(200)}:{"_meta":{"traceparent":"new","tracestate":"s=1"}${' '.repeat(200)}}}`,
  ],
  // Names elsewhere, as values or in arguments, are not those of the message.
  [
    '{"method":"params","params":{"name":"_meta","arguments":{"_meta":{"traceparent":"old"},"params":{}}}}',
    '{"method":"params","params":{"_meta":{"traceparent":"new","tracestate":"s=1"},"name":"_meta","arguments":{"_meta":{"traceparent":"old"},"params":{}}}}',
  ],
  [
    '{"params":{"arguments":{"s":"\\\\\\"}{"},"_met\\u0061":{"x":[{}]}}}',
    '{"params":{"arguments":{"s":"\\\\\\"}{"},"_met\\u0061":{"tracestate":"s=1","traceparent":"new","x":[{}]}}}',
  ],
  ['{"params":{"_meta":{"traceparent":7}}}', '{"params":{"_meta":{"tracestate":"s=1","traceparent":7}}}'],
  ['{"params":[]}', '{"params":[]}'],
  ['{"params":{"_meta":null}}', '{"params":{"_meta":null}}'],
  ['[{"params":{}}]', '[{"params":{}}]'],
  ['{', '{"params":{"_meta":{"traceparent":"new","tracestate":"s=1"}},'],
  ['', ''],
])('SEP-414: the trace context goes into %s, and nothing else changes', (text, changed) => {
  expect(withTraceText(text, carrier)).toBe(changed)
})

it('SEP-414: a parsed message gets the same', () => {
  const message = { method: 'm', params: { a: 1, _meta: { traceparent: 'old', k: 2 } } }
  expect(withTrace(message, carrier)).toEqual(JSON.parse(withTraceText(JSON.stringify(message), carrier)))
  expect(withTrace({ method: 'm' }, carrier)).toEqual(JSON.parse(withTraceText('{"method":"m"}', carrier)))
})
