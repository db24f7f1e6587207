import { describe, expect, it, test } from 'vitest'
import { readLogo } from './logo.ts'

const root = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"/>'
const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')

const read = (content: string | Buffer): unknown => readLogo(Buffer.from(content as string), './logo.gif')

describe('a logo is recognized by its content, not by its name', () => {
  test.each<[string, string | Buffer, string]>([
    ['SVG', root, 'svg+xml'],
    ['SVG with a byte order mark', `\uFEFF${root}`, 'svg+xml'],
    [
      'SVG as drawing programs write it',
      `<?xml version="1.0" encoding="utf-8"?>\n<!-- Generator -->\n<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd" [\n<!ENTITY a "b">\n]>\n${root}`,
      'svg+xml',
    ],
    ['PNG', png, 'png'],
    ['JPEG', Buffer.from('ffd8ffe000104a464946', 'hex'), 'jpeg'],
    ['WebP', Buffer.from('RIFF\u0001\u0002\u0003\u0004WEBPVP8 ', 'latin1'), 'webp'],
  ])('%s', (_name, content, type) => {
    expect(read(content)).toEqual({
      kind: 'read',
      value: `data:image/${type};base64,${Buffer.from(content as string).toString('base64')}`,
    })
  })

  test.each<[string, string | Buffer]>([
    ['GIF', 'GIF89a'],
    ['HTML', `<!doctype html><html><body>${root}</body></html>`],
    ['HTML after a comment', `<!-- --><p>${root}`],
    ['SVG that no browser shows', '<svg viewBox="0 0 1 1"/>'],
    ['another kind of RIFF', 'RIFF1234WAVEfmt '],
  ])('%s is none', (_name, content) => {
    expect(read(content)).toEqual({
      kind: 'faulty',
      faults: ['./logo.gif is not an SVG, PNG, JPEG or WebP image.'],
    })
  })
})

it('a logo has at most 32 KB', () => {
  const padded = (length: number): Buffer => Buffer.concat([png, Buffer.alloc(length - png.length)])
  expect(read(padded(32_768))).toMatchObject({ kind: 'read' })
  expect(read(padded(32_769))).toEqual({
    kind: 'faulty',
    faults: ['./logo.gif has 32769 bytes; every page carries the logo, so 32768 are the most.'],
  })
})
