import type { SocialMethod } from '../../core/session/session-provider.ts'

const labels: ReadonlyMap<string, string> = new Map([
  ['azure', 'Microsoft'],
  ['bitbucket', 'Bitbucket'],
  ['fly', 'Fly.io'],
  ['github', 'GitHub'],
  ['gitlab', 'GitLab'],
  ['kakao', 'Kakao'],
  ['linkedin', 'LinkedIn'],
  ['linkedin_oidc', 'LinkedIn'],
  ['slack_oidc', 'Slack'],
  ['vercel_marketplace', 'Vercel'],
  ['workos', 'WorkOS'],
])

/**
 * A social sign-in method of the auth API with what people call it. A name that is not known is written with a capital
 * and spaces; `custom:`, with which a project's own methods begin, is left out.
 */
export function describeSocialMethod(id: string): SocialMethod {
  const name =
    id
      .replace(/^custom:/, '')
      .replaceAll(/[_-]+/g, ' ')
      .trim() || id
  return { id, label: labels.get(id) ?? name.charAt(0).toUpperCase() + name.slice(1) }
}
