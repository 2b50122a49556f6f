import type { ReactElement } from 'react'
import type { NodeGpu } from '../../api/client'
import { t } from '../../base/i18n'
import { Icon } from '../../widgets/icon'
import { illText, memoryText, percentText } from './order'

const GIB = 1024 ** 3

function words(gpu: NodeGpu): string {
  const what = { place: gpu.place, type: gpu.type || gpu.name }
  if (gpu.ill) return t('node.gpu_is_ill', { ...what, reason: illText(gpu.ill) })
  const is = t('node.gpu_is', {
    ...what,
    busy: percentText(gpu.now.percent),
    memory: memoryText(gpu),
  })
  return gpu.used_by ? `${is} · ${t('node.gpu_used', { place: gpu.place, who: gpu.used_by })}` : is
}

/** A GPU as a square: filled as far as it is busy, with the GiB of memory in use. */
function Square({ gpu }: { gpu: NodeGpu }): ReactElement {
  const { percent, memory_bytes: used } = gpu.now
  const kind = gpu.ill ? 'ill' : gpu.used_by || gpu.mig ? 'taken' : 'well'
  return (
    <li className={`gpu-square gpu-${kind}`} title={words(gpu)}>
      <span className="visually-hidden">{words(gpu)}</span>
      <span className="gpu-fill" style={{ height: `${gpu.ill ? 0 : (percent ?? 0)}%` }} />
      <span className="gpu-number" aria-hidden="true">
        {gpu.ill ? <Icon name="warning" /> : used === null ? '–' : Math.round(used / GIB)}
      </span>
    </li>
  )
}

export function Squares({ gpus, of }: { gpus: NodeGpu[]; of: string }): ReactElement {
  if (gpus.length === 0) return <span className="muted">{t('node.no_gpus')}</span>
  return (
    <ul className="gpu-squares" aria-label={of}>
      {gpus.map((gpu) => (
        <Square key={gpu.place} gpu={gpu} />
      ))}
    </ul>
  )
}
