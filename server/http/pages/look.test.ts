import { expect, it, test } from 'vitest'
import { brandSamples } from '../../../tests/support/pages/brand-sample.ts'
import { loginSample } from '../../../tests/support/pages/view-sample.ts'
import { loginPage } from './login-page.ts'
import { createLook } from './look.ts'

test.each([...brandSamples].filter(([name]) => name !== 'brand-login-colour'))(
  'a page has the logo with the name of the app, and no other name at the top: %s',
  (_name, { document }) => {
    expect(document).toMatch(
      /<p class="brand"><img\s+class="logo"\s+src="data:image\/svg\+xml;base64,[^"]+"\s+alt="(?:Example Notes|W+)"/,
    )
    expect(document).not.toContain('<span>Drawbridge</span>')
  },
)

it.each([
  ['an accent', { appAccent: { light: '#6d28d9', dark: '#c4b5fd' } }],
  ['a logo', { logoUrl: 'data:image/png;base64,AAAA' }],
])('a page with %s has nothing of Drawbridge: no name, no mark, no drawing, no green', (_name, given) => {
  const look = createLook({ appName: 'Example Notes', ...given })
  const document = loginPage({ ...loginSample, look })
  const seen = document.replaceAll(/<style>.*?<\/style>/gs, '')
  expect(seen).not.toMatch(/Drawbridge|class="mark"|class="scene"|10302d|0b2421|1f8f7b/)
  expect(document).toContain('· Example Notes</title>')
  for (const name of ['gate', 'gate-stone', 'gate-line', 'gate-text', 'gate-quiet', 'gate-bright', 'accent'])
    expect(document.split(` --${name}: `).length, name).toBeGreaterThan(3)
})

it('one accent colour applies to light and dark mode', () => {
  const { styleElement } = createLook({ appName: 'Notes', appAccent: { light: '#6d28d9', dark: '#c4b5fd' } })
  expect(String(styleElement)).toContain('--accent: #6d28d9; --on-accent: #ffffff;')
  expect(String(styleElement)).toContain('--accent: #c4b5fd; --on-accent: #000000;')
})
