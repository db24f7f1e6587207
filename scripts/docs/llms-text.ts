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
  return `# Drawbridge\n\n> ${summary}\n\n## Start\n\n${first.join('\n')}\n\n${lists.join('\n')}`
}
