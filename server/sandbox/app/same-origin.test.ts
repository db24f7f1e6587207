import { expect, it } from 'vitest'
import { isSameOrigin } from './same-origin.ts'

const APP = 'http://localhost:8788'

it.each([
  { site: 'same-origin', origin: APP, same: true },
  { site: 'same-origin', origin: undefined, same: true },
  { site: 'same-origin', origin: 'null', same: true },
  { site: undefined, origin: APP, same: true },
  { site: 'same-origin', origin: 'http://localhost:9999', same: false },
  { site: 'same-site', origin: APP, same: false },
  { site: 'same-site', origin: 'http://localhost:9999', same: false },
  { site: 'same-site', origin: undefined, same: false },
  { site: 'cross-site', origin: APP, same: false },
  { site: 'cross-site', origin: 'null', same: false },
  { site: 'none', origin: undefined, same: false },
  { site: 'none', origin: APP, same: false },
  { site: '', origin: APP, same: false },
  { site: undefined, origin: undefined, same: false },
  { site: undefined, origin: 'null', same: false },
  { site: undefined, origin: `${APP}/`, same: false },
  { site: undefined, origin: 'http://LOCALHOST:8788', same: false },
  { site: undefined, origin: 'https://localhost:8788', same: false },
  { site: undefined, origin: 'http://localhost', same: false },
])('Sec-Fetch-Site $site with Origin $origin is the same origin: $same', ({ site, origin, same }) => {
  const headers = new Headers()
  if (site !== undefined) headers.set('sec-fetch-site', site)
  if (origin !== undefined) headers.set('origin', origin)
  expect(isSameOrigin(headers, APP)).toBe(same)
})
