import { checkProfile } from './core/settings/profile-form.ts'
import type { Profile } from './core/profile.ts'

const variables = {
  label: 'TEAM_LABEL',
  appUrl: 'APP_URL',
  baseUrl: 'BASE_URL',
  cookieName: 'COOKIE_NAME',
} as const

/**
 * Reads the built-in profile of a team build, `wxt build --mode team`; undefined in any other mode. `APP_URL` is
 * required; `BASE_URL`, `COOKIE_NAME` and `TEAM_LABEL` are not. Throws an error that names the invalid variable. Does
 * not check that anything responds at these addresses.
 */
export function readTeam(
  mode: string,
  environment: Readonly<Record<string, string | undefined>>,
): Profile | undefined {
  if (mode !== 'team') return undefined
  const read = (member: keyof typeof variables): string => environment[variables[member]] ?? ''
  const checked = checkProfile({
    id: 'team',
    label: read('label'),
    appUrl: read('appUrl'),
    baseUrl: read('baseUrl'),
    cookieName: read('cookieName'),
  })
  if (checked.kind === 'valid') return checked.profile
  const faults = Object.entries(checked.faults).map(
    ([member, fault]) => `${variables[member as keyof typeof variables]} (${fault})`,
  )
  throw new Error(
    `A team build has an APP_URL such as https://app.example.com, and may have a BASE_URL. Not usable: ${faults.join(', ')}. Change it and build again.`,
  )
}
