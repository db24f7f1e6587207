import { connectPage, connectPolicy } from '../../../server/http/pages/connect-page.ts'
import { connectionsPage } from '../../../server/http/pages/connections-page.ts'
import { errorPage } from '../../../server/http/pages/error-page.ts'
import { messagePage } from '../../../server/http/pages/finished-page.ts'
import { contentSecurityPolicy } from '../../../server/http/pages/layout.ts'
import { loginPage } from '../../../server/http/pages/login-page.ts'
import { createLook, type Look } from '../../../server/http/pages/look.ts'
import { parseAccent } from '../../../server/core/accent.ts'
import type { ServedPage } from './page-server.ts'
import { connectSample, connectionsSample, errorSample, loginSample, messageSample } from './view-sample.ts'

function svgUrl(svg: string): string {
  return `data:image/svg+xml;base64,${Buffer.from(svg).toString('base64')}`
}

/** A dark logo, which would not be seen on the dark side of the page; a browser that took it for one of a dark page would show it white. */
const logo = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">
<style>path { fill: #2e1065 } @media (prefers-color-scheme: dark) { path { fill: #fff } }</style>
<path d="M7 3h13l6 6v20H7zM11 14h11v2H11zM11 19h11v2H11zM11 24h7v2h-7z" fill-rule="evenodd"/></svg>`
const wideLogo = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 900 60"><path d="M0 0h900v60H0z" fill="#333"/></svg>`

function brand(accent: string, svg = logo, appName = 'Example Notes'): Look {
  return createLook({ appName, logoUrl: svgUrl(svg), appAccent: parseAccent(accent) })
}

const violet = brand('#6d28d9')
// 3:1 is enough for a button and too little for a link.
const faint = brand('#8a5cf0')

function served(document: string, look: Look): ServedPage {
  return { document, contentSecurityPolicy: contentSecurityPolicy(look) }
}

function login(look: Look, appName = 'Example Notes'): ServedPage {
  return served(loginPage({ ...loginSample, look, appName }), look)
}

/** Pages with the logo and the colour of an app, by name. */
export const brandSamples: ReadonlyMap<string, ServedPage> = new Map([
  ['brand-login', login(violet)],
  ['brand-login-faint', login(faint)],
  ['brand-login-colour', login(createLook({ appName: 'Example Notes', appAccent: parseAccent('#0b7285') }))],
  ['brand-login-logo', login(createLook({ appName: 'Example Notes', logoUrl: svgUrl(logo) }))],
  ['brand-login-unbreakable', login(brand('#7a7a00', wideLogo, 'W'.repeat(60)), 'W'.repeat(60))],
  [
    'brand-connect',
    {
      document: connectPage({ ...connectSample, look: violet }),
      contentSecurityPolicy: connectPolicy(violet),
    },
  ],
  ['brand-connections', served(connectionsPage({ ...connectionsSample, look: faint }), faint)],
  ['brand-error', served(errorPage({ ...errorSample, look: violet }), violet)],
  ['brand-message', served(messagePage({ ...messageSample, look: faint }), faint)],
])
