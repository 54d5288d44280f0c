"""The words of made-up addresses, and the orders in which countries put the parts of one.

Names are shared on purpose: see `crfkit.datasets.generate`.
"""

from __future__ import annotations

#: Of each country, how an address may be written; the first is the commonest.
ORDERS = {
    "us": (
        "recipient?, building?, number direction? street type direction? unit?, city, state postcode"
        " country?",
        "recipient?, unit, number direction? street type, city, state postcode",
        "recipient?, box, city, state postcode country?",
        "number route unit?, city, state postcode?",
        "number direction? street type unit?, postcode city state?",
        "building, street type, city state",
    ),
    "ca": (
        "recipient?, unit?, number street type direction?, city, state postcode country?",
        "recipient?, box, city state postcode country?",
        "number street type unit?, city, state country",
    ),
    "gb": (
        "recipient?, unit?, building?, number street type, city, state?, postcode country?",
        "recipient, building, street type, city, postcode",
        "recipient?, box, city, postcode country?",
        "number street type, city, state",
    ),
    "au": (
        "recipient?, unit?, number street type, city state postcode country?",
        "recipient?, box, city state postcode",
        "building, number street type, city, postcode state",
    ),
    "de": (
        "recipient?, street type number unit?, postcode city, country?",
        "recipient?, joined number, postcode city, country?",
        "postcode city, joined number",
        "recipient?, box, postcode city, country?",
    ),
    "fr": (
        "recipient?, building?, unit?, number type street, postcode city, country?",
        "recipient?, type street number, city postcode",
        "recipient?, box, postcode city, country?",
    ),
    "es": (
        "recipient?, type street number, unit?, postcode city, country?",
        "type street, number, unit?, city postcode country?",
        "recipient?, box, postcode city, country?",
    ),
}

#: Things are separated by ";", ways to write one (or names that are as common) by "|".
COMMON = {
    "first": "Anna|John|Maria|Peter|Madison|Lincoln|Grace|Omar|Li|Sofia|Paris|Carlos|Ruth|Dieter|Chloé|Jean",
    "title": "Dr|Mr|Mrs|Ms|Prof.|Mme|Herr|c/o|Attn",
    "firm": "Bakery|Books|Ltd|Inc|GmbH|& Sons|Hotel|Bank|School|Café|S.A.|Motors|Street Press|Clinic",
    "house": "House|Tower|Building|Court|Mill|Center|Plaza|Hall|Lodge|Mansions",
    "stem": "Ash|Bex|Col|Dun|Elm|Fair|Glen|Har|Ing|Kil|Lang|Mar|Nor|Oak|Pem|Ros|Stan|Tor|Wal|Win|Brad|Mel",
    "onset": "B|Br|C|Cr|D|F|G|Gr|H|K|L|M|N|P|R|S|St|T|Th|Tr|V|W",
    "vowel": "a|e|i|o|u|ai|ea|oo",
    "coda": "ck|l|ll|m|n|nt|r|rn|sh|t|x|v|s|mp",
    "named": "Lincoln|Washington|Madison|Jackson|Paris|Berlin|London|Richmond|Victoria|Orange|Hamilton",
    "plain": "Main|High|Church|Park|Mill|Station|Court|North|Bridge|Lake|King|Queen|Market|Avenue|Bay|Hill",
}
COUNTRIES = {
    "us": {
        "known": "Houston|Boston|New York|St Louis|North Bend|Santa Fe|Salt Lake City|Reading|Bath|Park City",
        "end": "ton|ville|field|burg|wood| Springs| Falls| City",
        "street_type": "Street|St|St.;Avenue|Ave|Av.;Road|Rd;Boulevard|Blvd;Drive|Dr;Lane|Ln;Ct;Way;Turnpike",
        "direction": "N|S|E|W|North|South|NW|SE|West",
        "unit_type": "Apt|Apartment|Apt.;Suite|Ste|Ste.;Unit;Floor|Fl;Room|Rm;#",
        "state": "CA|TX|NY|DC|CT|OR|IN|ME|MO|WA|LA|New York|Texas|California|Washington|Georgia",
        "postcode": "#####|#####|#####|#####-####",
        "box_type": "PO Box|P.O. Box|POB|Box",
        "country": "USA|United States|US",
    },
    "ca": {
        "known": "Toronto|London|Ottawa|Vancouver|St John's|North Bay|Victoria|Halifax|Hamilton",
        "end": "ton|ville|wood| Bay| Harbour|view",
        "street_type": "Street|St;Avenue|Ave;Road|Rd;Crescent|Cres;Drive|Dr;Rue",
        "direction": "N|S|E|W|East|West",
        "unit_type": "Apt;Unit;Suite|Ste;#",
        "state": "ON|QC|BC|NS|AB|Ontario|Quebec|Nova Scotia",
        "postcode": "A#A #A#|A#A #A#|A#A#A#",
        "box_type": "PO Box|Box|CP",
        "country": "Canada|CA|CANADA",
    },
    "gb": {
        "known": "London|Reading|Bath|Lincoln|York|Stoke on Trent|St Ives|Newcastle upon Tyne|Battle",
        "end": "ton|ford|ham|bury|wick|mouth| Green| St Mary",
        "street_type": "Street|St;Road|Rd|Rd.;Lane|Ln;Close|Cl;Gardens|Gdns;Hill;Square|Sq;Court;Park",
        "direction": "North",
        "unit_type": "Flat|Flt;Unit;Floor;Apartment|Apt",
        "state": "Kent|Essex|Berkshire|Surrey|West Yorkshire|Lincs|Berks|Devon",
        "postcode": "A# #AA|AA# #AA|AA## #AA|A#A #AA|AA##AA",
        "box_type": "PO Box|P O Box|Box",
        "country": "UK|United Kingdom|England|Scotland|GB",
    },
    "au": {
        "known": "Perth|Sydney|Melbourne|Richmond|Newcastle|Alice Springs|St Kilda|Orange|Victoria Park",
        "end": "ton|vale|dale|ville| Bay| Creek",
        "street_type": "Street|St;Road|Rd;Parade|Pde;Terrace|Tce;Crescent|Cres;Highway|Hwy;Court|Ct",
        "direction": "North",
        "unit_type": "Unit|U;Shop;Level|L;Flat",
        "state": "NSW|VIC|WA|QLD|SA|Victoria|Queensland",
        "postcode": "####",
        "box_type": "PO Box|GPO Box|Locked Bag",
        "country": "Australia|AUS|AU",
    },
    "de": {
        "known": "Berlin|Hamburg|München|Köln|Bad Homburg|Frankfurt am Main|Essen|Halle|Neustadt",
        "end": "heim|dorf|stadt|berg|hausen|au",
        "street_type": "Straße|Str.|Strasse|Str;Allee;Platz|Pl.;Weg;Ring",
        "unit_type": "Whg|Whg.|Wohnung;Etage;Zimmer",
        "postcode": "#####|#####|#####|D-#####",
        "box_type": "Postfach|Pf.",
        "country": "Germany|Deutschland|DE",
    },
    "fr": {
        "known": "Paris|Lyon|Nice|Tours|Saint-Denis|Bourg en Bresse|Le Mans|Valence|Angers",
        "end": "ville|ac|court|mont|-sur-Mer|y",
        "street_type": "rue|Rue|r.;avenue|av.|Av;boulevard|bd|Bd;place|pl.;chemin|ch.;impasse;quai",
        "unit_type": "Appt|appartement|Apt;Bât|Bâtiment;Étage",
        "postcode": "#####|#####|#####|F-#####",
        "box_type": "BP|B.P.|CS",
        "country": "France|FRANCE|FR",
    },
    "es": {
        "known": "Madrid|Toledo|Valencia|Granada|San Juan|Santa Cruz|Córdoba|León|Victoria",
        "end": "illa|era|osa|edo| al Mar|anca",
        "street_type": "Calle|C/|c.;Avenida|Av.|Avda;Plaza|Pza;Paseo|P.º;Camino",  # codespell:ignore calle
        "unit_type": "Piso;Puerta|Pta;Esc.|Escalera",
        "postcode": "#####|#####|E-#####",
        "box_type": "Apartado|Apdo|Apdo.",
        "country": "Spain|España|ES",
    },
}
LINKS = {"fr": "de|de la|du|des", "es": "de|del|de la"}  # between the type of a street and its name
STYLES = ("us", "us", "us", "gb", "gb", "de", "fr", "es", "ca", "au")  # the commoner, the oftener
