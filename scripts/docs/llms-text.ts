import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Builds the map of the documentation in the llmstxt.org format: each page of docs/README.md with its purpose. */
export function llmsText(): string {
  const read = (name: string): string =>
    readFileSync(fileURLToPath(new URL(`../../${name}`, import.meta.url)), 'utf8')
  const summary = /^# [^\n]+\n\n(.+?)\n\n/s.exec(read('README.md'))?.[1]?.replaceAll('\n', ' ') ?? ''
  const [start = '', ...sections] = read('docs/README.md').split(/^## /m)
  const item = (name = '', path = '', what = ''): string =>
    `- [${name}](${new URL(path, 'file:///docs/').pathname.slice(1)}): ${what}`
  const quickstarts = [...start.matchAll(/^\| (.+) \| \[(.+?)\]\((.+?)\) \|$/gm)].map(([, who, name, path]) =>
    item(name, path, `you have ${who}`),
  )
  const first = [
    item('The first hour', 'first-hour.md', 'from a clone to the first tool call in production'),
    ...quickstarts,
  ]
  const lists = sections.map((section) => {
    const rows = [...section.matchAll(/^\| (\[.+\)) \| (.+) \|$/gm)]
    const items = rows.flatMap(([, links = '', what]) =>
      [...links.matchAll(/\[(.+?)\]\((.+?)\)/g)].map(([, name, path]) => item(name, path, what)),
    )
    return `## ${section.split('\n')[0]}\n\n${items.join('\n')}\n`
  })
  const [command = ''] = /npx drawbridge-server init .+/.exec(read('skills/drawbridge/SKILL.md')) ?? []
  const agents =
    '## For coding agents\n\nSet a server up in an empty folder, without questions; stdout is JSON with the files, the redirect URLs to ' +
    `register and the next command:\n\n<!-- not run: tested elsewhere -->\n\`\`\`sh\n${command}\n\`\`\`\n\n` +
    '- [The skill](skills/drawbridge/SKILL.md): every step, for an app on Supabase, OpenID Connect or sessions of its own\n\n'
  return `# Drawbridge\n\n> ${summary}\n\n${agents}## Start\n\n${first.join('\n')}\n\n${lists.join('\n')}`
}
