import { describe, expect, it } from 'vitest'
import type { ValueSource } from './config-value.ts'
import {
  parseCallback,
  parseCallbackHost,
  parseCallbackPath,
  parseHeader,
  parseHeaderFile,
  parsePort,
} from './config-value-http.ts'

const source: ValueSource = {
  environment: { TOKEN: 'abc', SPLIT: 'a\r\nX-Evil: 1', EMPTY: '' },
  readText(path) {
    if (path !== 'headers') throw Object.assign(new Error('no'), { code: 'EACCES' })
    return '# comment\n\n  X-One: 1 \r\nX-Two:${TOKEN}\n'
  },
}

describe('a header', () => {
  it.each([
    ['X-Team: a', ['X-Team', 'a']],
    ['X-Team:a:b', ['X-Team', 'a:b']],
    ['Authorization: Bearer ${TOKEN}', ['Authorization', 'Bearer abc']],
    ['X-Empty: ${EMPTY}', ['X-Empty', '']],
    ['X: $TOKEN $5 ${not a name}', ['X', '$TOKEN $5 ${not a name}']],
  ])('%s is read', (text, entry) => {
    expect(parseHeader(text, source)).toEqual(entry)
  })

  it.each([
    ['no colon', /Name: value/],
    [': x', /Name: value/],
    ['X Y: 1', /Name: value/],
    ['X: ${MISSING}', /variable MISSING to be set/],
    ['X: ${SPLIT}', /without line ends/],
    ['X: a\nY: b', /without line ends/],
    ['Content-Type: text/plain', /another header than Content-Type/],
    ['mcp-session-id: 1', /which the protocol needs/],
    ['Host: x', /another header/],
  ])('%s is refused', (text, expected) => {
    expect(() => parseHeader(text, source)).toThrow(expected)
  })

  it('of a file is one of its lines', () => {
    expect(parseHeaderFile('headers', source)).toEqual([
      ['X-One', '1'],
      ['X-Two', 'abc'],
    ])
    expect(() => parseHeaderFile('other', source)).toThrow('EACCES')
  })
})

describe('a callback', () => {
  it.each([
    ['http://localhost:3118/callback', { host: 'localhost', port: 3118, path: '/callback' }],
    ['http://127.0.0.1/cb', { host: '127.0.0.1', port: undefined, path: '/cb' }],
    ['http://[::1]:80/a/b', { host: '::1', port: 80, path: '/a/b' }],
  ])('%s is read', (text, callback) => {
    expect(parseCallback(text)).toEqual(callback)
  })

  it.each([
    'https://localhost:3118/callback',
    'http://example.com/callback',
    'http://0.0.0.0:1/callback',
    'http://localhost:3118',
    'http://localhost:0/callback',
    'http://localhost:70000/callback',
    'http://user@localhost:1/x',
    'http://localhost:1/x?y=1',
    'http://localhost.evil.example:1/x',
    'localhost:3118/callback',
  ])('%s is refused', (text) => {
    expect(() => parseCallback(text)).toThrow(TypeError)
  })

  it('has its parts alone as well', () => {
    expect(parseCallbackHost('[::1]')).toBe('::1')
    expect(() => parseCallbackHost('0.0.0.0')).toThrow(/localhost/)
    expect(parseCallbackPath('/oauth/callback')).toBe('/oauth/callback')
    expect(() => parseCallbackPath('callback')).toThrow(/begins with/)
    expect(() => parseCallbackPath('/a?b')).toThrow(/begins with/)
    expect(parsePort('1')).toBe(1)
    for (const text of ['0', '65536', '1.5', '-1', '', 'x'])
      expect(() => parsePort(text)).toThrow(/1 to 65535/)
  })
})
