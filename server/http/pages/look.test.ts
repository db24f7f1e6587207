import { expect, it, test } from 'vitest'
import { brandSamples } from '../../../tests/support/pages/brand-sample.ts'
import { plainLook } from '../../../tests/support/pages/view-sample.ts'
import { createLook } from './look.ts'

test.each([...brandSamples])(
  'has the logo with the name of the app, and no other name at the top: %s',
  (_name, { document }) => {
    expect(document).toMatch(
      /<p class="brand"><img\s+class="logo"\s+src="data:image\/svg\+xml;base64,[^"]+"\s+alt="(?:Example Notes|W+)"/,
    )
    expect(document).not.toContain('<span>Drawbridge</span>')
  },
)

it('an accent without a logo keeps the name, and the reverse keeps the stylesheet', () => {
  const accent = createLook({ appName: 'Notes', appAccent: { light: '#6d28d9', dark: '#c4b5fd' } })
  expect(String(accent.brand)).toBe(String(plainLook.brand))
  expect(String(accent.styleElement)).toContain(':root { --accent: #c4b5fd; --on-accent: #000000; }')
  const logo = createLook({ appName: 'Notes', logoUrl: 'data:image/png;base64,AAAA' })
  expect(logo.styleSource).toBe(plainLook.styleSource)
})
