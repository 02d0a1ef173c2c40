import { readFileSync } from 'node:fs';

import { messageOf } from '@heddle/base/thrown';
import type { Ec2Parameters, Ec2Settings, Ec2Template } from '@heddle/core/pool/providers/ec2/settings';
import { userDataOf } from '@heddle/core/pool/providers/ec2/user-data';
import { ConfigurationError } from '@heddle/base/terminal/failure';
import type { SettingValues } from '../settings.ts';

/** Returns the faults of the settings of the provider `ec2`. */
export function ec2Faults(settings: SettingValues): string[] {
  if (settings.runnerProvider !== 'ec2') return [];
  const faults: string[] = [];
  if (settings.ec2Region === '')
    faults.push('HEDDLE_POOL_EC2_REGION: is required when HEDDLE_POOL_PROVIDER is ec2, for example eu-central-1');
  const { ec2Template: template, ec2Image: image } = settings;
  if (template === '' && image === '') {
    faults.push(
      'HEDDLE_POOL_EC2_TEMPLATE: set it to a launch template, or set HEDDLE_POOL_EC2_IMAGE to create one from an image',
    );
  }
  if (template !== '' && image !== '')
    faults.push('HEDDLE_POOL_EC2_IMAGE: has no effect when HEDDLE_POOL_EC2_TEMPLATE is set; set only one of the two');
  const has = (name: string): boolean => settings.ec2Environment.some((entry) => entry.startsWith(`${name}=`));
  const reachesPool = has('HEDDLE_URL') && has('HEDDLE_TOKEN');
  if (template === '' && image !== '' && settings.ec2UserData === '' && !reachesPool) {
    faults.push(
      'HEDDLE_POOL_EC2_ENVIRONMENT: must contain HEDDLE_URL=… and HEDDLE_TOKEN=… (a token of the scope runner), which runners need, unless the script in HEDDLE_POOL_EC2_USER_DATA sets them',
    );
  }
  return faults;
}

/** @throws ConfigurationError if the user data file cannot be read */
export function ec2SettingsOf(settings: SettingValues): Ec2Settings {
  return {
    region: settings.ec2Region,
    endpoint: settings.ec2Endpoint,
    pool: settings.ec2Pool,
    template: settings.ec2Template === '' ? null : templateOf(settings.ec2Template),
    parameters: settings.ec2Image === '' ? null : parametersOf(settings),
    subnet_ids: settings.ec2Subnets,
    instance_types: typesOf(settings.ec2InstanceTypes),
  };
}

function templateOf(given: string): Ec2Template {
  const [id = given, version = '$Default'] = given.split(':');
  return { id, version };
}

function parametersOf(settings: SettingValues): Ec2Parameters {
  const { ec2InstanceProfile: profile, ec2KeyName: key } = settings;
  return {
    image_id: settings.ec2Image,
    security_group_ids: settings.ec2SecurityGroups,
    instance_profile: profile === '' ? null : profile,
    key_name: key === '' ? null : key,
    user_data: userDataText(settings),
  };
}

function userDataText({ ec2UserData: path, ec2Environment }: SettingValues): string {
  if (path === '') return userDataOf({ environment: Object.fromEntries(ec2Environment.map(variableOf)) });
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new ConfigurationError([`HEDDLE_POOL_EC2_USER_DATA: cannot read ${path}: ${messageOf(error)}`]);
  }
}

function variableOf(entry: string): [string, string] {
  const at = entry.indexOf('=');
  return [entry.slice(0, at), entry.slice(at + 1)];
}

/** Groups `large=m7i.large` items by class, in the given order. */
function typesOf(entries: readonly string[]): Record<string, readonly string[]> {
  const byClass = Map.groupBy(entries.map(variableOf), ([name]) => name);
  return Object.fromEntries([...byClass].map(([name, types]) => [name, types.map(([, type]) => type)]));
}
