import * as fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'

import { html, rawHtml, SafeHtml, type HtmlValue } from './html.ts'

/** Any Unicode character. */
const character = fc
  .integer({ min: 0, max: 0x10_ffff - 0x800 })
  .map((code) => String.fromCodePoint(code < 0xd800 ? code : code + 0x800))

const render = (value: HtmlValue): string => html`${value}`.toString()

describe('escaping', () => {
  test.each([
    ['&', '&amp;'],
    ['<', '&lt;'],
    ['>', '&gt;'],
    ['"', '&quot;'],
    ["'", '&#39;'],
    ['&lt;', '&amp;lt;'],
    ['<script>alert("1")</script>', '&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;'],
    ['\u0000é😀', '\u0000é😀'],
    ['$& $1 $$', '$&amp; $1 $$'],
  ])('html escapes %j as %j', (text, escaped) => {
    expect(render(text)).toBe(escaped)
  })

  test('a value cannot leave its quoted attribute', () => {
    const value = `" onmouseover='x'`
    expect(html`<a title="${value}"></a>`.toString()).toBe('<a title="&quot; onmouseover=&#39;x&#39;"></a>')
  })

  it('escaping lets no markup through and loses nothing', () => {
    const names: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }
    fc.assert(
      fc.property(fc.string({ unit: character }), (text) => {
        const escaped = render(text)
        expect(escaped).not.toMatch(/[<>"']/)
        expect(escaped.replaceAll(/&([^;]*);/g, (_all, name: string) => names[name] ?? '?')).toBe(text)
      }),
    )
  })
})

describe('values', () => {
  test.each<[string, HtmlValue, string]>([
    ['undefined prints nothing', undefined, ''],
    ['false prints nothing', false, ''],
    ['zero is a number, not nothing', 0, '0'],
    ['markup is not escaped twice', html`<b>${'<'}</b>`, '<b>&lt;</b>'],
    ['a list is joined without separator', [html`<li>1</li>`, html`<li>2</li>`], '<li>1</li><li>2</li>'],
    ['strings of a list are escaped', ['<', html`<hr />`, '>'], '&lt;<hr />&gt;'],
    ['lists nest and skip what prints nothing', [['a', [undefined, false, 'b']], null], 'ab'],
    ['raw text is not escaped', rawHtml('a > b { }'), 'a > b { }'],
  ])('in markup %s', (_rule, value, text) => {
    expect(render(value)).toBe(text)
  })

  test('static text and holes alternate in order', () => {
    expect(html`a${'1'}b${'2'}c${'3'}`.toString()).toBe('a1b2c3')
    expect(html``.toString()).toBe('')
  })

  test('a look-alike object is not markup', () => {
    const forged: HtmlValue = JSON.parse('{"markup":"<script>"}')
    expect(() => render(forged)).toThrow(TypeError)
    expect(html`x`).toBeInstanceOf(SafeHtml)
    expect(Object.keys(html`x`)).toEqual([])
  })
})
