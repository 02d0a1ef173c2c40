"""Reads the XML of nmap and writes one JSON object for each open port. Runs in a sandbox without a network."""

import json
import sys
import xml.etree.ElementTree as tree

TEXT_MAX = 2_000


def address_of(host):
    return next(each.get("addr") for each in host.findall("address") if each.get("addrtype") in ("ipv4", "ipv6"))


for host in tree.parse(sys.argv[1]).getroot().findall("host"):
    for port in host.findall("ports/port"):
        if port.find("state").get("state") != "open":
            continue
        service = port.find("service")
        known = {} if service is None else service.attrib
        print(
            json.dumps(
                {
                    "host": address_of(host),
                    "port": int(port.get("portid")),
                    "service": known.get("name", "unknown"),
                    "product": " ".join(known[each] for each in ("product", "version") if each in known),
                    "scripts": {each.get("id"): each.get("output", "").strip()[:TEXT_MAX] for each in port.findall("script")},
                }
            )
        )
